"""Models that rank genes from expression, one file each. They learn from training cells and score every gene of a cell.

base                a model before and after fitting, its folder, and the list of the models in this package
training            the loop of epochs, with early stopping and checkpoints
pca_knn             nearest training cells by principal components
random_forest       trees of scikit-learn, saved as arrays
xgboost_trees       gradient-boosted trees
transformer         a transformer over tokens of binned expression; its network is in network, its start from scGPT in scgpt
"""

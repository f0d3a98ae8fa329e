"""Models that rank genes from expression, one file each. They learn from training cells and score every gene of a cell.

base                the interface of a model, and the list of the models in this package
training_cells      the cells for fitting and choosing
saved_model         their folders: safetensors and a manifest, written last
pca_knn             nearest training cells by principal components
random_forest       trees of scikit-learn, saved as arrays
xgboost_trees       gradient-boosted trees
transformer         a transformer over tokens of binned expression: network, transformer_learner
"""

"""Models that rank the perturbed genes from expression, one file each: training cells in, a score for every gene of a cell out.

base                what a model is, and the list of the models of this room
training_cells      what all of them are fitted and chosen on
saved_model         their folders: safetensors and a manifest, written last
pca_knn             nearest training cells in principal components
random_forest       trees of scikit-learn, traversed as arrays once they are saved
xgboost_trees       gradient-boosted trees
transformer         a transformer over tokens of binned expression: network, transformer_learner
"""

"""The sinks that come with Agonist, as cards that are cheap to import."""

from agonist.sinks.records import Card

console = Card("agonist.sinks.console:open_console", "a plain line an evaluation, on stderr")
json = Card("agonist.sinks.marl_eval:open_json", "marl-eval's experiment file, shared by many runs")
tb = Card("agonist.sinks.tensorboard:open_tensorboard", "TensorBoard's event files")
csv = Card("agonist.sinks.tables:open_csv", "a table as CSV: a row a step, a column a metric")
parquet = Card("agonist.sinks.tables:open_parquet", "the same table as Parquet")
model = Card("agonist.sinks.model:open_model", "the policies that a run ends with, as folders")
wandb = Card("agonist.sinks.wandb:open_wandb", "Weights & Biases", "wandb", "pip install 'agonist[wandb]'", apart=True)
mlflow = Card("agonist.sinks.mlflow:open_mlflow", "MLflow", "mlflow", "pip install 'agonist[mlflow]'", apart=True)
neptune = Card("agonist.sinks.neptune:open_neptune", "Neptune", "neptune", "pip install 'agonist[neptune]'", apart=True)

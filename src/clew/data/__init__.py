"""Data: batches of sequences, tables and their preparation, and generated tasks."""

from clew.data.batch import Batch
from clew.data.byte_pairs import BytePairVocabulary
from clew.data.categories import CategoryMap
from clew.data.character_vocabulary import ByteVocabulary, CharacterVocabulary
from clew.data.columns import Columns
from clew.data.conllu import read_conllu
from clew.data.conversion import Converted, convert_table
from clew.data.describing import Description, describe
from clew.data.describing_others import ImageDescription, TextDescription, describe_images, describe_text
from clew.data.documents import Documents, TextParts, read_documents
from clew.data.image_files import read_images
from clew.data.images import ImageParts, ImagePreparation, Images
from clew.data.preparation import Preparation
from clew.data.problems import TableError
from clew.data.reading import as_table, read_table
from clew.data.recall_episodes import (
    RecallSeeds,
    RecallSizes,
    RecallSplits,
    describe_disjointness,
    sample_episodes,
    sample_recall_splits,
)
from clew.data.scaling import Scaling
from clew.data.sequence_data import UNSCORED, UNSEEN, SequenceData
from clew.data.splitting import Parts, SplitRule, split_sequences
from clew.data.table import Table
from clew.data.text import TextData, TextPreparation
from clew.data.text_files import read_text
from clew.data.vocabularies import fit_vocabulary, vocabulary_from_mapping
from clew.data.vocabulary import Vocabulary
from clew.data.word_vocabulary import WordVocabulary

__all__ = [
    "UNSCORED",
    "UNSEEN",
    "Batch",
    "BytePairVocabulary",
    "ByteVocabulary",
    "CategoryMap",
    "CharacterVocabulary",
    "Columns",
    "Converted",
    "Description",
    "Documents",
    "ImageDescription",
    "ImageParts",
    "ImagePreparation",
    "Images",
    "Parts",
    "Preparation",
    "RecallSeeds",
    "RecallSizes",
    "RecallSplits",
    "Scaling",
    "SequenceData",
    "SplitRule",
    "Table",
    "TableError",
    "TextData",
    "TextDescription",
    "TextParts",
    "TextPreparation",
    "Vocabulary",
    "WordVocabulary",
    "as_table",
    "convert_table",
    "describe",
    "describe_disjointness",
    "describe_images",
    "describe_text",
    "fit_vocabulary",
    "read_conllu",
    "read_documents",
    "read_images",
    "read_table",
    "read_text",
    "sample_episodes",
    "sample_recall_splits",
    "split_sequences",
    "vocabulary_from_mapping",
]

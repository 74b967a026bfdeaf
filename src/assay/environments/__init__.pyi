# Written by assay.catalogue.generate.
from assay.environments.beside import Beside as Beside
from assay.environments.calibrated import Calibrated as Calibrated
from assay.environments.cifar import Cifar as Cifar
from assay.environments.color_count import ColorCount as ColorCount
from assay.environments.image_folder import ImageFolder as ImageFolder
from assay.environments.in_domain import InDomain as InDomain
from assay.environments.linear import Linear as Linear
from assay.environments.own import Own as Own
from assay.environments.pixel_count import PixelCount as PixelCount
from assay.environments.pixel_modulo import PixelModulo as PixelModulo
from assay.environments.public_table import PublicTable as PublicTable
from assay.environments.spurious_retrain import SpuriousRetrain as SpuriousRetrain
from assay.environments.tabular_rule import TabularRule as TabularRule
from assay.environments.token_count import TokenCount as TokenCount
from assay.environments.two_objects import TwoObjects as TwoObjects
from assay.environments.watermark import Watermark as Watermark

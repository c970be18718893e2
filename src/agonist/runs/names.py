"""A run's id: it sorts by time and can be said aloud, as in `20261119-211433-calm-heron`."""

from __future__ import annotations

import random
import time

ADJECTIVES = """
able airy amber ample apt arch avid azure balmy blithe blue bold brave breezy bright brisk broad bronze calm candid
chief civil clear clever coral cosy crisp curly dainty daring deep deft dewy droll dusky eager early earnest easy elder
fair fast fine firm fleet fond frank free fresh frosty gentle giant gilded glad golden good grand great green hale handy
happy hardy hazel honest humble ideal indigo ivory jade jolly keen kind large lasting lean light lively long loud loyal
lucid lucky mellow merry mild misty modest neat new nimble noble olive open pale patient plain plucky polite prime proud
quick quiet rapid rare ready rosy royal ruby sage sandy sharp shy silent silver simple sleek slim small smart snowy
solar solid sonic spry stable steady still stout strong sunny sure swift tall tame tawny tidy timely tiny top tranquil
true trusty upbeat urban vast vivid warm wary wide wild wise witty young zesty
"""

ANIMALS = """
adder albatross alpaca ant auk badger bat bear beaver bee beetle bison bittern boar bream bullfinch bunting buzzard
camel carp cat chamois cicada civet clam cod condor coot coral cormorant crab crane cricket crow cuckoo curlew deer
dingo dipper dolphin dormouse dove dragonfly duck dunlin eagle eel egret eider elk ermine falcon ferret finch firefly
fox frog gannet gazelle gecko gibbon goat goose goshawk grebe grouse gull haddock hare harrier hawk hedgehog heron
herring hoopoe hornet horse ibex ibis iguana jackal jackdaw jaguar jay kestrel kite kiwi koala lamprey lapwing lark
lemur leopard linnet lion lizard llama lobster loon lynx macaw magpie mallard manatee marlin marmot marten martin merlin
mole moose moth mouse mule newt nightjar numbat nuthatch ocelot octopus oriole osprey otter owl ox oyster panda panther
parrot partridge pelican penguin perch pheasant pigeon pike pipit plover pony puffin puma quail rabbit raccoon raven ray
redstart robin rook salmon seal shark sheep shrew shrike siskin skua skylark sloth snail snipe sole sparrow squid stag
starling stilt stoat stork sturgeon swallow swan swift tapir teal tern thrush tiger toad trout turtle viper vole wagtail
walrus warbler weasel whale wigeon wolf wombat wren yak zebra
"""


def new_id(now: float | None = None) -> str:
    """A fresh id. The words come from the system's randomness, so a seeded program draws no differently for it."""
    chance = random.SystemRandom()
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(now))
    return f"{stamp}-{chance.choice(ADJECTIVES.split())}-{chance.choice(ANIMALS.split())}"


def words_of(run_id: str) -> str:
    """`calm-heron` of `20261119-211433-calm-heron`."""
    return run_id.split("-", 2)[-1]

"""`python -m anabranch run SCRIPT`."""

import sys

from anabranch.runner import main

sys.exit(main())

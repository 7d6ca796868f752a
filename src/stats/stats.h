// stats: streaming and robust statistics. Pure; non-finite values are the caller's to keep out.
#pragma once

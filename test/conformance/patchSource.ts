// Preloaded by the servers of a mutant (`node --import`): replaces the source of one module when it is loaded.
import { registerHooks } from "node:module";

const { OLMV1_MUTATED_URL: url, OLMV1_MUTATED_SOURCE: source } = process.env;
if (url !== undefined && source !== undefined)
  registerHooks({
    load: (given, context, nextLoad) => {
      const loaded = nextLoad(given, context);
      return given === url ? { ...loaded, source } : loaded;
    },
  });

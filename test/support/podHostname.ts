// Preloaded by servers (`node --import`) that run in the name of a simulated Pod: the host name of a Pod is its name.
import { syncBuiltinESMExports } from "node:module";
import os from "node:os";

const { POD_NAME } = process.env;
if (POD_NAME !== undefined) {
  os.hostname = () => POD_NAME;
  syncBuiltinESMExports();
}

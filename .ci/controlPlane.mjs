// Finds or builds the programs of the embedded control plane in advance, so that later steps do not wait. With `--with-parent`, exits when standard
// input closes. Exit code 3: the programs are unavailable; the message explains what to do.
import { findBinaries, NoBinariesError } from "../pkg/devcluster/binaries.ts";

const NO_WAY = 3;

if (process.argv.includes("--with-parent")) process.stdin.resume().on("close", () => process.exit(1));
try {
  await findBinaries((line) => void process.stderr.write(`${line}\n`));
  process.exit(0);
} catch (err) {
  if (!(err instanceof NoBinariesError)) throw err;
  process.stderr.write(`${err.message}\n`);
  process.exit(NO_WAY);
}

/** A usage error: nothing was run. Exit status 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Runs a program with the arguments of this process and sets its exit status. Prints the usage after a usage error. */
export async function runMain(main: (args: readonly string[]) => Promise<number>, usage: string): Promise<void> {
  try {
    process.exitCode = await main(process.argv.slice(2));
  } catch (err) {
    if (!(err instanceof UsageError)) throw err;
    console.error(`error: ${err.message}\n${usage}`);
    process.exitCode = 2;
  }
}

/** Calls repeatedly until `work` is done. @returns the number of successful calls, and every failure. */
export async function whileAsking(
  ask: () => Promise<unknown>,
  work: () => Promise<unknown>,
): Promise<{ answers: number; failures: unknown[] }> {
  const failures: unknown[] = [];
  let answers = 0;
  const stop = new AbortController();
  const asking = (async () => {
    while (!stop.signal.aborted) {
      try {
        await ask();
        answers++;
      } catch (err) {
        failures.push(err);
      }
    }
  })();
  try {
    await work();
  } finally {
    stop.abort();
    await asking;
  }
  return { answers, failures };
}

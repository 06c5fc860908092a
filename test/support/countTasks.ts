/** Returns how many other tasks of the event loop run during `work`. Work that blocks the process lets none run. */
export async function countTasks(work: () => Promise<void>): Promise<number> {
  let tasks = 0;
  let isDone = false;
  const task = (): void => {
    tasks++;
    if (!isDone) setImmediate(task);
  };
  setImmediate(task);
  await work().finally(() => {
    isDone = true;
  });
  return tasks;
}

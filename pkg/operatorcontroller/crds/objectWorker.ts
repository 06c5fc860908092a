import { serveTasks } from "../../async/taskThread.ts";
import { type CrdComparisonTask, checkPage, compareCrds, type PageTask } from "./objectChecks.ts";

// The body of the worker thread that `existingObjects.ts` starts.

serveTasks(async (request) => {
  const task = request as PageTask | CrdComparisonTask;
  return { response: "page" in task ? await checkPage(task) : compareCrds(task) };
});

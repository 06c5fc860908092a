import { serveTasks } from "../../async/taskThread.ts";
import { type CrdComparisonTask, compareCrds } from "./crdComparison.ts";
import { checkPage, type PageTask } from "./objectPage.ts";

// The body of the worker thread that `existingObjects.ts` starts.

serveTasks((request) => {
  const task = request as PageTask | CrdComparisonTask;
  return { response: "page" in task ? checkPage(task) : compareCrds(task) };
});

import { serveTasks } from "../threads/serveTasks.ts";
import { checkPage, type PageTask } from "./objectPage.ts";

// The body of the worker thread that `existingObjects.ts` starts.

serveTasks((task) => ({ response: checkPage(task as PageTask) }));

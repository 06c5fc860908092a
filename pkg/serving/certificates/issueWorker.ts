import { parentPort, workerData } from "node:worker_threads";
import { issueCertificate } from "./issueCertificate.ts";
import type { IssueTask } from "./issueMessage.ts";

// The body of the worker thread that `certificateIssuer.ts` starts.

parentPort?.postMessage(await issueCertificate(workerData as IssueTask), []);

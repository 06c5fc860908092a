import { Worker } from "node:worker_threads";
import { buildWorkerEnv, getWorkerFile } from "../async/taskThread.ts";
import { getErrorMessage } from "../errors/errors.ts";

/** Issues certificates. */
export interface CertificateIssuer {
  /** @throws the signal's reason when it aborts. */
  issue(task: IssueTask, signal: AbortSignal): Promise<IssuedCertificate>;
}

/**
 * Issues one certificate at a time in a new thread, because the library takes 20 MB of memory and
 * is rarely needed.
 */
export class ThreadIssuer implements CertificateIssuer {
  #last: Promise<unknown> = Promise.resolve();

  issue(task: IssueTask, signal: AbortSignal): Promise<IssuedCertificate> {
    const turn = this.#last.then(() => run(task, signal));
    this.#last = turn.catch(() => undefined);
    return turn;
  }
}

async function run(task: IssueTask, signal: AbortSignal): Promise<IssuedCertificate> {
  signal.throwIfAborted();
  const worker = new Worker(getWorkerFile(import.meta.dirname, "issueWorker"), { workerData: task, env: buildWorkerEnv() });
  const stop = (): void => void worker.terminate();
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await new Promise<IssuedCertificate>((resolve, reject) => {
      worker.once("message", resolve);
      worker.on("error", (err) =>
        reject(new Error(`cannot issue a certificate for ${task.host}: ${getErrorMessage(err)}`, { cause: err })),
      );
      worker.once("exit", () => reject(signal.reason ?? new Error("the thread that issues certificates ended unexpectedly")));
    });
  } finally {
    signal.removeEventListener("abort", stop);
    await worker.terminate();
  }
}

/** Task of the thread that issues certificates. */
export interface IssueTask {
  /**
   * Common name of the authority and the certificate; truncated to the 64 characters that X.509
   * allows.
   */
  readonly host: string;
  readonly dnsNames: readonly string[];
  /** Start and end of the validity of both, in milliseconds since the epoch. */
  readonly startsAt: number;
  readonly endsAt: number;
}

/**
 * An authority and its only certificate, PEM. The authority's key is discarded, so that it cannot
 * sign other certificates.
 */
export interface IssuedCertificate {
  readonly authority: string;
  readonly certificate: string;
  /** PKCS #8. */
  readonly key: string;
}

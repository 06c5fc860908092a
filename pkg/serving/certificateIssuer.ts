import { Worker } from "node:worker_threads";
import { workerFile } from "../async/taskThread.ts";
import { messageOf } from "../errors/errors.ts";

/** Makes certificates. */
export interface CertificateIssuer {
  /** @throws the signal's reason when it aborts. */
  issue(task: IssueTask, signal: AbortSignal): Promise<IssuedCertificate>;
}

/** Makes them one at a time in a thread that ends with each: the library takes 20 MB, and is needed once in two years. */
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
  const worker = new Worker(workerFile(import.meta.dirname, "issueWorker"), { workerData: task, env: {} });
  const stop = (): void => void worker.terminate();
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await new Promise<IssuedCertificate>((resolve, reject) => {
      worker.once("message", resolve);
      worker.on("error", (err) => reject(new Error(`issue a certificate for ${task.host}: ${messageOf(err)}`, { cause: err })));
      worker.once("exit", () => reject(signal.reason ?? new Error("the thread that issues certificates ended early")));
    });
  } finally {
    signal.removeEventListener("abort", stop);
    await worker.terminate();
  }
}

/** What the thread that issues certificates is to make. */
export interface IssueTask {
  /** Names the authority and the certificate; cut to the 64 characters that X.509 has room for. */
  readonly host: string;
  readonly dnsNames: readonly string[];
  /** From when to when both hold, in milliseconds since the epoch. */
  readonly startsAt: number;
  readonly endsAt: number;
}

/** An authority and one certificate of it, PEM. The authority's key is gone: nobody can make another certificate of it. */
export interface IssuedCertificate {
  readonly authority: string;
  readonly certificate: string;
  /** PKCS #8. */
  readonly key: string;
}

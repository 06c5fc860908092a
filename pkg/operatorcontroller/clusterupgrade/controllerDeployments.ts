import type { KubeObject } from "../../api/k8s.ts";
import type { Clock } from "../../async/clock.ts";
import { Informer, withoutBulk } from "../../controller/informer.ts";
import type { Client } from "../../kube/client.ts";
import type { Logger } from "../../telemetry/log.ts";

/** What ControllerDeployments is built from. */
export interface ControllerDeploymentsOptions {
  client: Pick<Client, "list" | "watch">;
  systemNamespace: string;
  log: Logger;
  clock: Clock;
}

const DEPLOYMENT = { apiVersion: "apps/v1", kind: "Deployment" } as const;
/** For so long nothing goes on without an answer. */
const ANSWER_MS = 10_000;

/** The Deployments of the system namespace, watched from the first time that somebody asks for them. */
export class ControllerDeployments {
  readonly #informer: Informer;
  readonly #clock: Clock;
  readonly #handlers: (() => void)[] = [];
  #running: Promise<void> | undefined;
  #answered = false;

  constructor({ client, systemNamespace, log, clock }: ControllerDeploymentsOptions) {
    this.#clock = clock;
    const changed = (): void => {
      if (this.#answered) for (const handler of this.#handlers) handler();
    };
    this.#informer = new Informer(
      client,
      DEPLOYMENT,
      { namespace: systemNamespace, transform: withoutBulk, clock, listed: () => this.#answer() },
      log,
    );
    this.#informer.onEvent(changed);
  }

  /** Calls `handler` when the Deployments are known at last, and after every change. */
  onChange(handler: () => void): void {
    this.#handlers.push(handler);
  }

  /** Whether it is known which Deployments there are; from the first call on they are watched until `signal` aborts. */
  known(signal: AbortSignal): boolean {
    if (!this.#running) {
      const stopWaiting = this.#clock.after(ANSWER_MS, () => this.#answer());
      this.#running = this.#informer.run(signal).finally(stopWaiting);
    }
    return this.#answered;
  }

  get(name: string): KubeObject | undefined {
    return this.#informer.list().find(({ metadata }) => metadata.name === name);
  }

  /** Resolves once nothing is watched any more. */
  async ended(): Promise<void> {
    await this.#running;
  }

  #answer(): void {
    if (this.#answered) return;
    this.#answered = true;
    for (const handler of this.#handlers) handler();
  }
}

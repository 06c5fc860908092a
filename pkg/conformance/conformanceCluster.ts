import type { Client } from "../kube/client.ts";
import type { ContentReader } from "./catalogContent.ts";
import type { ImageRepository } from "./scenarioImages.ts";

/** What scenarios run on. */
export interface ConformanceCluster extends ImageRepository {
  readonly client: Client;
  readonly content: ContentReader;
  /** Namespace of the servers. Their ServiceAccounts may create tokens of the ServiceAccounts of the scenarios. */
  readonly systemNamespace: string;
  /** Name of the run, unique among concurrent runs. */
  readonly run: string;
  /** Maximum time of each step, in milliseconds. */
  readonly timeoutMs: number;
}

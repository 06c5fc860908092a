import { RetryableError, TerminalError } from "../errors/errors.ts";
import { ContentError } from "./contentError.ts";
import type { ImageConfig } from "./manifest.ts";
import type { AskedImage } from "./pullJob.ts";

/** The label that says in which directory of a catalog image its file-based catalog lies. */
export const CONFIG_DIR_LABEL = "operators.operatorframework.io.index.configs.v1";

/**
 * The directory of a catalog image that holds its content: a filter for `Puller.pull`.
 * @param asked by digest the image can never get the label, by tag the next image may have it
 * @throws TerminalError or RetryableError `catalog image is missing the required label "…"`
 */
export function catalogRoot(config: ImageConfig, { isPinned }: AskedImage): { root: string } {
  const root = config.labels[CONFIG_DIR_LABEL];
  if (root !== undefined) return { root };
  const message = `catalog image is missing the required label "${CONFIG_DIR_LABEL}"`;
  const cause = new ContentError(message);
  throw isPinned ? new TerminalError("Blocked", message, { cause }) : new RetryableError("Retrying", message, { cause });
}

import { LABEL_BUNDLE_NAME, LABEL_BUNDLE_VERSION, LABEL_PACKAGE_NAME } from "../api/constants.ts";
import type { ReleaseRecord } from "./record.ts";

const BUNDLE: readonly string[] = [LABEL_PACKAGE_NAME, LABEL_BUNDLE_NAME, LABEL_BUNDLE_VERSION];

/**
 * Whether with the next release what another operator-controller installed is only taken over, and nothing newer is installed:
 *
 * | deployed release             | next release                               | taken over |
 * | none                         | any                                        | no         |
 * | any                          | of another bundle                          | no         |
 * | of another writer            | of the same bundle                         | yes        |
 * | of ours, which took it over  | the same bundle, back after a failed upgrade | yes      |
 * | of ours                      | any other                                  | no         |
 *
 * The image does not count: it may come from a mirror by now.
 * @param deployed the last release that was applied completely.
 * @param next what a release that is to be made says of itself.
 */
export function isTakeOver(deployed: ReleaseRecord | undefined, next: Pick<ReleaseRecord, "labels" | "rolledBack">): boolean {
  if (!deployed || BUNDLE.some((label) => deployed.labels[label] !== next.labels[label])) return false;
  return isOfAnotherWriter(deployed) || (deployed.takenOver === true && next.rolledBack !== undefined);
}

/** Whether another operator-controller wrote a release. Every one of ours has an input digest, but one that went back to a release without. */
export function isOfAnotherWriter({ inputDigest, rolledBack, pinnedTo }: ReleaseRecord): boolean {
  return inputDigest === undefined && rolledBack === undefined && pinnedTo === undefined;
}

import { formatSupportPhase, isSupported, type VersionSupport } from "../fbc/versionSupport.ts";
import type { Styled } from "./mood.ts";

/** Describes the support of a version in a few words, such as `Full support until 2027-01-31`; `unknown` without data. */
export function describeSupport(support: VersionSupport | undefined): Styled {
  if (!support || support.state === "Unknown") return { text: "unknown", mood: "faint" };
  const text = formatSupportPhase(support);
  if (support.platform !== "Incompatible") return { text, mood: isSupported(support) ? "good" : "warning" };
  return { text: `${text}, but not on the cluster's version`, mood: "warning" };
}

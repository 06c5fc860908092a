import { messageOf } from "../../errors/errors.ts";
import { goQuote } from "../../golang/quote.ts";
import { excerpt } from "../../fbc/boundedTexts.ts";
import { parseRange } from "../../version/blang.ts";
import type { PackageConstraint } from "./constraint.ts";
import { below, type Members, textOf } from "./constraintMembers.ts";
import { ReadFault } from "./readFault.ts";

/** The members of a required package, in all their spellings. */
export const PACKAGE_KEYS = ["packageName", "versionRange", "name", "version"];
/** Longest range; the longest in public catalogs has some 40 characters. */
const MAX_RANGE = 1_024;
/** Longest name; Kubernetes takes 253. */
const MAX_NAME = 512;

/**
 * A required package, its name under `packageName` or `name`, its range of versions (blang's language) under `versionRange` or `version`.
 * @throws ReadFault when one of the two is missing, stands there in two spellings that differ, or is no range.
 */
export function packageFrom(members: Members, path: string): Omit<PackageConstraint, "failureMessage"> {
  const packageName = spelt(members, path, "packageName", "name");
  const text = spelt(members, path, "versionRange", "version");
  if (packageName.length > MAX_NAME) throw new ReadFault(path, `the package's name has ${packageName.length} characters`);
  if (text.length > MAX_RANGE) throw new ReadFault(path, `the range of versions has ${text.length} characters, more than ${MAX_RANGE}`);
  try {
    return { kind: "package", packageName, range: { text, versions: parseRange(text) } };
  } catch (err) {
    throw new ReadFault(path, `${goQuote(excerpt(text))} is no range of versions: ${messageOf(err)}`, { cause: err });
  }
}

function spelt(members: Members, path: string, key: string, other: string): string {
  const [text, otherText] = [textOf(members, key, path), textOf(members, other, path)];
  if (text !== undefined && otherText !== undefined && text !== otherText)
    throw new ReadFault(path, `${key} and ${other} mean the same and differ: ${goQuote(excerpt(text))} and ${goQuote(excerpt(otherText))}`);
  const found = text ?? otherText ?? "";
  if (found === "") throw new ReadFault(below(path, key), "must be set");
  return found;
}

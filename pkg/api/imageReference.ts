import * as z from "zod";
import { celString, matches, type Rule, withRules } from "./rules.ts";

const DOMAIN = String.raw`^([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])((\.([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))+)?(:[0-9]+)?\b`;
const NAME = String.raw`(\/[a-z0-9]+((([._]|__|[-]*)[a-z0-9]+)+)?((\/[a-z0-9]+((([._]|__|[-]*)[a-z0-9]+)+)?)+)?)`;
const ALGORITHM = "(@[A-Za-z][A-Za-z0-9]*([-_+.][A-Za-z][A-Za-z0-9]*)*[:])";
const TAG = String.raw`:[\w][\w.-]*$`;
const HEX = ":[0-9A-Fa-f]*$";
/** Matches from "@" to the last colon, if the reference has a digest. */
const AT = "(@.*:)";
/** Matches from the first colon, even that of a port: the tag or digest in the rules below. */
const END = ":.*$";
const TAG_MAX = 127;
const ENCODED_MIN = 32;

const domain = matches(
  DOMAIN,
  'must start with a valid domain. valid domains must be alphanumeric characters (lowercase and uppercase) separated by the "." character.',
);

const name: Rule<string> = {
  rule: `self.find(${celString(NAME)}) != ""`,
  message:
    'a valid name is required. valid names must contain lowercase alphanumeric characters separated only by the ".", "_", "__", "-" characters.',
  holds: (ref) => hasName(ref),
};

const digestOrTag: Rule<string> = {
  rule: `self.find('${AT}') != "" || self.find('${END}') != ""`,
  message: "must end with a digest or a tag",
  holds: (ref) => isDigestReference(ref) || find(ref, END) !== "",
};

const digest: Rule<string> = {
  rule: `self.find('${AT}') != ""`,
  message: "must end with a digest",
  holds: isDigestReference,
};

const tagRules: Rule<string>[] = [
  {
    rule: whenTag(`self.find('${END}').substring(1).size() <= ${TAG_MAX}`),
    message: `tag is invalid. the tag must not be more than ${TAG_MAX} characters`,
    holds: (ref) => isDigestReference(ref) || find(ref, END).length - 1 <= TAG_MAX,
  },
  {
    rule: whenTag(`self.find('${END}').matches(${celString(TAG)})`),
    message:
      'tag is invalid. valid tags must begin with a word character (alphanumeric + "_") followed by word characters or ".", and "-" characters',
    holds: (ref) => isDigestReference(ref) || find(ref, END) === "" || new RegExp(TAG).test(find(ref, END)),
  },
];

const digestRules: Rule<string>[] = [
  {
    rule: whenDigest(`self.find('${AT}').matches('${ALGORITHM}')`),
    message:
      "digest algorithm is not valid. valid algorithms must start with an uppercase or lowercase alpha character followed by alphanumeric characters " +
      'and may contain the "-", "_", "+", and "." characters.',
    holds: (ref) => !isDigestReference(ref) || new RegExp(ALGORITHM).test(find(ref, AT)),
  },
  {
    rule: whenDigest(`self.find('${END}').substring(1).size() >= ${ENCODED_MIN}`),
    message: `digest is not valid. the encoded string must be at least ${ENCODED_MIN} characters`,
    holds: (ref) => !isDigestReference(ref) || find(ref, END).length - 1 >= ENCODED_MIN,
  },
  {
    rule: whenDigest(`self.find('${END}').matches('${HEX}')`),
    message: "digest is not valid. the encoded string must only contain hex characters (A-F, a-f, 0-9)",
    holds: (ref) => !isDigestReference(ref) || new RegExp(HEX).test(find(ref, END)),
  },
];

/** Schema of a reference to a catalog image, by tag or digest. */
export const imageReference = withRules(z.string().max(1_000), domain, name, digestOrTag, ...tagRules, ...digestRules);

/** Schema of a reference to an unpacked image, by digest. */
export const resolvedReference = withRules(z.string().max(1_000), domain, name, digest, ...digestRules);

/** Returns whether admission considers the reference a digest reference. */
export function isDigestReference(ref: string): boolean {
  // Equivalent to AT, but starts at the last "@" before a colon, so that matching takes linear time.
  return /@[^@:\r\n\u2028\u2029]*:/.test(ref);
}

function hasName(ref: string): boolean {
  return find(ref, NAME) !== "";
}

/** Implements `find` of CEL: returns the first match, or an empty text. */
function find(text: string, pattern: string): string {
  return new RegExp(pattern).exec(text)?.[0] ?? "";
}

function whenTag(condition: string): string {
  return `self.find('${AT}') == "" ? (self.find('${END}') != "" ? ${condition} : true) : true`;
}

function whenDigest(condition: string): string {
  return `self.find('${AT}') != "" ? ${condition} : true`;
}

import * as z from "zod";
import { matches, withRules } from "./rules.ts";

/** RFC 6901; what an object is, where it is and whose it is cannot be left to others. */
const POINTER = "^(/([^/~]|~[01])+)+$";
const RESERVED = "^/(apiVersion|kind|status)(/|$)";
const METADATA = "^/metadata(/|$)";
const OPEN_METADATA = "^/metadata/(annotations|labels)(/|$)";
const POINTER_TEXT = "paths entries must be JSON pointers such as /spec/replicas";
const RESERVED_TEXT = "paths entries may not be below /apiVersion, /kind or /status, and of /metadata only below annotations and labels";

const isReserved = new RegExp(RESERVED);
const isMetadata = new RegExp(METADATA);
const isOpenMetadata = new RegExp(OPEN_METADATA);

const path = withRules(z.string().max(256), matches(POINTER, POINTER_TEXT), {
  rule: `!self.matches("${RESERVED}") && (!self.matches("${METADATA}") || self.matches("${OPEN_METADATA}"))`,
  message: RESERVED_TEXT,
  holds: (text) => !isReserved.test(text) && (!isMetadata.test(text) || isOpenMetadata.test(text)),
});

const target = z
  .object({
    group: z.string().max(253).optional().describe('group is the API group, "" for the core group. Without it, any group is meant.'),
    kind: z.string().min(1).max(63).describe("kind is the kind of the objects."),
    namespace: z.string().max(63).optional().describe("namespace is where the objects are. Without it, any namespace is meant."),
    name: z.string().max(253).optional().describe("name is the name of one object. Without it, all objects of the kind are meant."),
  })
  .describe("target selects objects of the bundle.");

const ignoreRule = z
  .object({
    paths: z.array(path).min(1).max(16).meta({
      "x-kubernetes-list-type": "atomic",
      description:
        "paths are JSON pointers (RFC 6901) of fields that others decide, such as /spec/replicas or /metadata/annotations/example.com~1team. Positions of a list are those of the bundle's object. At most 16.",
    }),
    target,
  })
  .describe("Fields of some objects that others decide.");

/** What happens when somebody changes or deletes what is installed. */
export const drift = z
  .object({
    policy: z
      .enum(["Correct", "Warn", "Ignore"])
      .optional()
      .describe(
        "policy is what happens when an object of the bundle is deleted or a field of it changed. Correct puts it back, Warn reports it and changes nothing, Ignore does not look. Fields that the bundle does not set are never drift. Without it, Correct; but Warn on an extension that was taken over from the Go operator-controller, until its first upgrade.",
      ),
    ignore: z.array(ignoreRule).max(16).optional().meta({
      "x-kubernetes-list-type": "atomic",
      description:
        "ignore names fields that are left as others set them, also by upgrades. An object that does not exist is made as the bundle has it. At most 16.",
    }),
  })
  .describe("drift configures what happens when somebody changes or deletes what is installed.");

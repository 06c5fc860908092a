import * as z from "zod";
import { MESSAGE_MAX_BYTES } from "./constants.ts";

const CONDITION_TYPE = /^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$/;
const CONDITION_REASON = /^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/;

/** A moment as RFC 3339. */
export const time = z.iso.datetime({ offset: true });

/** metav1.Condition. */
const condition = z
  .object({
    type: z.string().max(316).regex(CONDITION_TYPE).describe("type names what the condition is about, such as Installed."),
    status: z.enum(["True", "False", "Unknown"]).describe("status is True, False or Unknown."),
    observedGeneration: z.int().min(0).exactOptional().meta({
      format: "int64",
      description: "observedGeneration is the metadata.generation that the condition speaks of; a smaller one is out of date.",
    }),
    lastTransitionTime: time.describe("lastTransitionTime is when status last changed."),
    reason: z
      .string()
      .min(1)
      .max(1024)
      .regex(CONDITION_REASON)
      .describe("reason is one CamelCase word for why status is what it is; programs may rely on it."),
    message: z.string().max(MESSAGE_MAX_BYTES).describe("message explains the condition to people. It may be empty."),
  })
  .describe("One aspect of the object's current state.");

/** A list of conditions, at most one of each type. `description` tells which types there are. */
export function conditions(description: string) {
  return z.array(condition).meta({ description, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"] });
}

/** metav1.LabelSelector. */
export const labelSelector = z
  .object({
    matchExpressions: z
      .array(
        z
          .object({
            key: z.string().describe("key is the label that is looked at."),
            operator: z.string().describe("operator is In, NotIn, Exists or DoesNotExist."),
            values: z.array(z.string()).optional().meta({
              "x-kubernetes-list-type": "atomic",
              description: "values are compared by In and NotIn; the other operators take none.",
            }),
          })
          .describe("One demand on one label."),
      )
      .optional()
      .meta({ "x-kubernetes-list-type": "atomic", description: "matchExpressions are demands that must all hold." }),
    matchLabels: z.record(z.string(), z.string()).optional().describe("matchLabels are labels that must have exactly these values."),
  })
  .meta({ "x-kubernetes-map-type": "atomic" });

import * as z from "zod";
import { MESSAGE_MAX_BYTES } from "./constants.ts";

const CONDITION_TYPE = /^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$/;
const CONDITION_REASON = /^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/;

/** A time as RFC 3339. */
export const time = z.iso.datetime({ offset: true });

/** metav1.Condition. */
const condition = z
  .object({
    type: z.string().max(316).regex(CONDITION_TYPE).describe("type is the type of the condition, such as Installed."),
    status: z.enum(["True", "False", "Unknown"]).describe("status is True, False or Unknown."),
    observedGeneration: z.int().min(0).exactOptional().meta({
      format: "int64",
      description:
        "observedGeneration is the metadata.generation that the condition is based on. If it is lower than the current one, the condition is outdated.",
    }),
    lastTransitionTime: time.describe("lastTransitionTime is when status last changed."),
    reason: z.string().min(1).max(1024).regex(CONDITION_REASON).describe("reason is a stable CamelCase reason for the last transition."),
    message: z.string().max(MESSAGE_MAX_BYTES).describe("message explains the condition. It may be empty."),
  })
  .describe("One aspect of the current state.");

/** Returns the schema of a list of conditions, at most one per type. @param description lists the types. */
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
            key: z.string().describe("key is the label key."),
            operator: z.string().describe("operator is In, NotIn, Exists or DoesNotExist."),
            values: z.array(z.string()).optional().meta({
              "x-kubernetes-list-type": "atomic",
              description: "values are the label values for In and NotIn; empty for other operators.",
            }),
          })
          .describe("One requirement for a label."),
      )
      .optional()
      .meta({ "x-kubernetes-list-type": "atomic", description: "matchExpressions are requirements; all must match." }),
    matchLabels: z.record(z.string(), z.string()).optional().describe("matchLabels are labels and their required values."),
  })
  .meta({ "x-kubernetes-map-type": "atomic" });

/** The `status.observedGeneration` of an object that no controller has reconciled. */
const NEVER_OBSERVED = -1;

/**
 * `status.observedGeneration`. With {@link NOT_OBSERVED}, tools that follow kstatus do not take an object for ready before its first reconcile.
 */
export const observedGeneration = z
  .int()
  .optional()
  .meta({
    format: "int64",
    description: `observedGeneration is the metadata.generation that the status is based on, or ${NEVER_OBSERVED} before the first reconcile.`,
  });

/** The default status of an object. */
export const NOT_OBSERVED = { observedGeneration: NEVER_OBSERVED };

import * as z from "zod";
import { WEBHOOK_CERT_PROVIDERS } from "../../pkg/api/flagValues.ts";
import { GRANTS } from "../../pkg/api/permissionPolicy.ts";
import { defineFlags, duration, logFlags, optionalText, systemNamespaceFlag } from "../internal/flags.ts";
import { clusterRegistryFlags, globalPullSecretFlag, hasPullSecret, PULL_SECRET_FORMAT, registryFlags } from "../internal/imageFlags.ts";
import { areElectionTimesValid, ELECTION_TIMES, leaderFlags } from "../internal/leaderFlags.ts";
import { tlsProfileFlags } from "../internal/serving.ts";

/** Flags of the server. Flags that operator-controller also has must have the same values there, because both must render the same objects. */
const Flags = z
  .strictObject({
    kubeconfig: z.string().optional().describe("path of a kubeconfig (default: $KUBECONFIG, else the Pod's ServiceAccount)"),
    "system-namespace": systemNamespaceFlag("namespace of the server and of operator-controller"),
    "cache-path": z.string().default("/var/cache/permission-manager").describe("folder for unpacked bundle images"),
    "catalogd-cas-dir": optionalText().describe("folder of PEM files with CA certificates for catalogd"),
    ...registryFlags(),
    ...clusterRegistryFlags(),
    ...globalPullSecretFlag(),
    "health-probe-bind-address": z.string().default(":8081").describe("address to serve /healthz, /readyz and /metrics on; 0 disables it"),
    ...tlsProfileFlags({ cluster: false }),
    "webhook-cert-provider": z
      .enum(WEBHOOK_CERT_PROVIDERS)
      .default("auto")
      .describe("provider of certificates for webhooks and API services, as for operator-controller"),
    "managed-permissions": z
      .enum(["on", "always"])
      .default("on")
      .describe(
        "on: grants permissions to extensions without a ServiceAccount; always: grants permissions to all extensions; as for operator-controller",
      ),
    "default-grant": z.enum(GRANTS).default("Guarded").describe("spec.grant of PermissionPolicy default if it does not exist"),
    "max-concurrent-reconciles": z.coerce.number().int().min(1).max(64).default(4).describe("maximum number of concurrent reconciles"),
    "max-backoff": duration("2m").describe("maximum delay before a failed verification is retried"),
    ...leaderFlags("grants permissions"),
    ...logFlags(),
  })
  .refine(hasPullSecret, PULL_SECRET_FORMAT)
  .refine(areElectionTimesValid, ELECTION_TIMES);

export type Flags = z.output<typeof Flags>;

export const { flagHelp, usage, parseFlags } = defineFlags(
  "permission-manager: grants extensions the permissions of their bundles, as permission policies allow",
  Flags,
  Flags.shape,
);

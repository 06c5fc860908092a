import { describeInteger, describeText } from "./customResources.ts";
import { describeOperator } from "./descriptions.ts";
import { createSvgIcon } from "./icons.ts";
import type { OperatorPackage } from "./operatorPackage.ts";

const SHOP = { name: "Acme Shop", url: "https://shop.acme.example.com" };
const QUEUES_GROUP = "queues.example.com";

/** An operator whose custom resources have two versions, which only its webhook converts. */
export const QUEUES: OperatorPackage = {
  name: "message-queue-operator",
  displayName: "Message Queue Operator",
  summary: "Runs message queues with dead letters and delayed delivery.",
  description: describeOperator({
    about: "The Message Queue Operator runs **durable queues** between the services of a shop.",
    features: [
      "Dead letters: keeps messages that no consumer accepts.",
      "Delayed delivery: delivers messages at a time that the sender chooses.",
    ],
    example: `apiVersion: ${QUEUES_GROUP}/v1\nkind: Queue\nmetadata:\n  name: orders`,
  }),
  provider: SHOP,
  keywords: ["queue", "messages"],
  categories: "Streaming & Messaging",
  capabilities: "Seamless Upgrades",
  icon: createSvgIcon("MQ", "#9d174d"),
  versions: [
    {
      version: "1.3.0",
      crds: [
        {
          group: QUEUES_GROUP,
          kind: "Queue",
          plural: "queues",
          description: "A queue with its limits.",
          versions: [
            { name: "v1", spec: { maxMessages: describeInteger("number of messages that the queue keeps") } },
            { name: "v2", spec: { limit: describeText("number or size of messages that the queue keeps, such as 10Gi") } },
          ],
        },
      ],
      deployments: [{ name: "message-queue-operator" }],
      webhooks: [
        {
          generateName: "convert.queues.example.com",
          type: "ConversionWebhook",
          deploymentName: "message-queue-operator",
          containerPort: 443,
          targetPort: 9443,
          webhookPath: "/convert",
          sideEffects: "None",
          admissionReviewVersions: ["v1"],
          conversionCRDs: [`queues.${QUEUES_GROUP}`],
        },
      ],
    },
  ],
};

/** An operator with root-equivalent permissions that needs another one. */
const createShopOperator = (name: string, displayName: string, summary: string, needed: string): OperatorPackage => ({
  name,
  displayName,
  summary,
  description: describeOperator({ about: summary, features: [], example: "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: shop" }),
  provider: SHOP,
  keywords: ["shop"],
  categories: "Application Runtime",
  capabilities: "Basic Install",
  icon: createSvgIcon(displayName.slice(0, 2).toUpperCase(), "#4d7c0f"),
  versions: [
    {
      version: "1.0.0",
      deployments: [{ name }],
      clusterPermissions: [{ apiGroups: ["rbac.authorization.k8s.io"], resources: ["clusterroles"], verbs: ["bind", "escalate"] }],
      dependencies: [{ type: "olm.package", value: { packageName: needed, version: ">=1.0.0" } }],
    },
  ],
});

/** Two operators that need each other, so that a plan installs both at the same time. */
export const ORDERS = createShopOperator(
  "orders-operator",
  "Orders",
  "Creates the databases and queues of the order service.",
  "payments-operator",
);
export const PAYMENTS = createShopOperator(
  "payments-operator",
  "Payments",
  "Creates the accounts and keys of the payment service.",
  "orders-operator",
);

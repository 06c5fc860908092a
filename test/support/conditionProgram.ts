/**
 * A program in the container of an operator that sends exactly the requests of operator-lib's package conditions: `node conditionProgram.ts TYPE STATUS
 * REASON MESSAGE` sets a condition, `node conditionProgram.ts TYPE` prints its status. Reads everything as in a Pod: the variable
 * OPERATOR_CONDITION_NAME, the address of the API server, and the folder of the ServiceAccount (variable ACCOUNT_FOLDER instead of its fixed path).
 * @see operator-framework/operator-lib v0.19.0 conditions/conditions.go, internal/utils/utils.go
 */
import { readFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";

interface ReportedCondition {
  type: string;
  status: string;
  reason: string;
  message: string;
  lastTransitionTime: string;
}

interface ConditionObject {
  spec?: { conditions?: ReportedCondition[] };
}

const { OPERATOR_CONDITION_NAME: name = "", ACCOUNT_FOLDER: folder = "", API_SERVER: server = "" } = process.env;

function readAccount(file: string): string {
  return readFileSync(join(folder, file), "utf8").trim();
}

function send(method: "GET" | "PUT", body?: object): Promise<ConditionObject> {
  const path = `/apis/operators.coreos.com/v2/namespaces/${readAccount("namespace")}/operatorconditions/${name}`;
  const headers = { authorization: `Bearer ${readAccount("token")}`, "content-type": "application/json" };
  return new Promise((resolve, reject) => {
    const sent = request(new URL(path, server), { method, headers, ca: readAccount("ca.crt") }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (part: string) => (text += part));
      response.on("end", () => {
        if (response.statusCode === 200) resolve(JSON.parse(text) as ConditionObject);
        else reject(new Error(`${method} ${path}: ${response.statusCode} ${text}`));
      });
    });
    sent.on("error", reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

if (name === "") throw new Error("could not determine operator condition name: environment variable OPERATOR_CONDITION_NAME not set");
const [type = "", status, reason = "", message = ""] = process.argv.slice(2);
const object = await send("GET");
const conditions = object.spec?.conditions ?? [];
if (status === undefined) {
  const found = conditions.find((one) => one.type === type);
  if (!found) throw new Error(`conditionType ${type} not found`);
  console.log(found.status);
} else {
  const others = conditions.filter((one) => one.type !== type);
  const changed = [...others, { type, status, reason, message, lastTransitionTime: new Date().toISOString().replace(/\.\d+/, "") }];
  await send("PUT", { ...object, spec: { ...object.spec, conditions: changed } });
}

import { serveTasks } from "../../async/serveTasks.ts";
import { messageOf } from "../../errors/errors.ts";
import { readPayload } from "../../release/decode.ts";
import type { PayloadRequest, PayloadResponse } from "./releaseMessage.ts";

// The body of the worker thread that `releaseThread.ts` starts.

serveTasks((request) => ({ response: read(request as PayloadRequest) }));

function read({ payload, labels, secret }: PayloadRequest): PayloadResponse {
  try {
    return { kind: "read", parts: readPayload(payload, { labels, index: { key: secret } }) };
  } catch (err) {
    return { kind: "failed", message: messageOf(err) };
  }
}

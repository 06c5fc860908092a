import { CLUSTER_EXTENSION, Reason } from "../../api/constants.ts";
import { describeObject } from "../../release/identity.ts";
import { WaitingError } from "../waiting.ts";
import type { Need } from "./handovers.ts";
import { listed } from "./objectAction.ts";

/** Milliseconds between two looks whether the other extensions are ready; they cost no request. */
const LOOK_MS = 1_000;

/** A release needs objects of other extensions, which give them up with releases of their own that cannot be applied yet. */
export class HandoverPending extends WaitingError {
  constructor(needs: readonly Need[], agreed: () => boolean) {
    const objects = needs.map(({ object, owner }) => `${describeObject(object)} of ${CLUSTER_EXTENSION} "${owner}"`);
    const text = `waiting for ${listed(objects)}, whose next release no longer contains it and cannot be applied yet; nothing was changed, and the controller retries automatically`;
    super(Reason.Retrying, text, { isOver: () => Promise.resolve(agreed()), everyMs: LOOK_MS });
  }
}

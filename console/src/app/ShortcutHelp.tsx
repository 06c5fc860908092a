import { Modal, ModalBody, ModalHeader } from "@patternfly/react-core";
import type { ReactElement } from "react";
import { text } from "../text/en.ts";

/** The list of keyboard shortcuts. */
export default function ShortcutHelp({
  rows,
  onClose,
}: {
  /** Keys, with spaces between, and what they do. */
  readonly rows: readonly (readonly [keys: string, label: string])[];
  readonly onClose: () => void;
}): ReactElement {
  return (
    <Modal variant="small" isOpen onClose={onClose} aria-label={text.shortcuts.title}>
      <ModalHeader title={text.shortcuts.title} />
      <ModalBody>
        <dl className="olm-shortcuts">
          {rows.map(([keys, label]) => (
            <div key={keys}>
              <dt>
                {keys.split(" ").map((key) => (
                  <kbd key={key}>{key}</kbd>
                ))}
              </dt>
              <dd>{label}</dd>
            </div>
          ))}
        </dl>
      </ModalBody>
    </Modal>
  );
}

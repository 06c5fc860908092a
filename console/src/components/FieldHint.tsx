import { FormHelperText, HelperText, HelperTextItem } from "@patternfly/react-core";
import type { ReactElement } from "react";

/** An explanation below a field of a form. */
export function FieldHint({ text, id }: { readonly text: string; readonly id?: string }): ReactElement {
  return (
    <FormHelperText>
      <HelperText {...(id === undefined ? {} : { id })}>
        <HelperTextItem className="olm-break">{text}</HelperTextItem>
      </HelperText>
    </FormHelperText>
  );
}

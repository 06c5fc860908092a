import { Title } from "@patternfly/react-core";
import type { ReactElement } from "react";
import { extensionsText } from "../../../text/extensions.ts";

/** The objects of an extension. */
export default function ObjectsTab(): ReactElement {
  return <Title headingLevel="h2">{extensionsText.tabs.objects}</Title>;
}

import { Title } from "@patternfly/react-core";
import type { ReactElement } from "react";
import { extensionsText } from "../../../text/extensions.ts";

/** Everything about the state of an extension. */
export default function OverviewTab(): ReactElement {
  return <Title headingLevel="h2">{extensionsText.tabs.overview}</Title>;
}

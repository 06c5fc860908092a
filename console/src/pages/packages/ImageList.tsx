import { ExpandableSection } from "@patternfly/react-core";
import { type ReactElement, useState } from "react";
import { packagesText } from "../../text/packages.ts";

/** Lists with more images are collapsed. */
const SHORT = 5;

/** The images that a version uses. */
export function ImageList({ images }: { readonly images: readonly string[] }): ReactElement {
  const [isExpanded, setExpanded] = useState(images.length <= SHORT);
  return (
    <ExpandableSection
      toggleText={packagesText.imageCount(images.length)}
      isExpanded={isExpanded}
      onToggle={(_event, is) => setExpanded(is)}
    >
      <ul className="olm-rows">
        {images.map((image, i) => (
          <li key={`${i} ${image}`} className="olm-break">
            <code>{image}</code>
          </li>
        ))}
      </ul>
    </ExpandableSection>
  );
}

import type { VNode } from 'preact';
import { config } from '../../../shared/lib/config.ts';
import { getBrand } from '../brand.ts';

/** Name of the service and links at the end of every page: guides, the API reference, and the configured ones. */
export function Footer(): VNode {
  const links = [
    ['/docs/', 'Guides'],
    ['/api/docs/', 'API reference'],
    [config.TERMS_URL, 'Terms'],
    [config.PRIVACY_URL, 'Privacy'],
    [config.SUPPORT_EMAIL === undefined ? undefined : `mailto:${config.SUPPORT_EMAIL}`, 'Support'],
  ];
  return (
    <footer>
      <ul>
        <li class="quiet">{getBrand().name}</li>
        {links.map(([address, label]) =>
          address === undefined ? null : (
            <li>
              <a href={address}>{label}</a>
            </li>
          ),
        )}
      </ul>
    </footer>
  );
}

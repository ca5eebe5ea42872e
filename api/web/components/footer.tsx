import type { VNode } from 'preact';
import { config } from '../../../shared/lib/config.ts';

/** Links at the end of every page: the configured ones, and the API reference. */
export function Footer(): VNode {
  const links = [
    ['/api/docs/', 'API reference'],
    [config.TERMS_URL, 'Terms'],
    [config.PRIVACY_URL, 'Privacy'],
    [config.SUPPORT_EMAIL === undefined ? undefined : `mailto:${config.SUPPORT_EMAIL}`, 'Support'],
  ];
  return (
    <footer>
      <ul>
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

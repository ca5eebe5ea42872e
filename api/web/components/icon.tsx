import type { VNode } from 'preact';
import apps from 'lucide-static/dist/esm/icons/app-window.mjs';
import book from 'lucide-static/dist/esm/icons/book-open.mjs';
import chart from 'lucide-static/dist/esm/icons/chart-column.mjs';
import open from 'lucide-static/dist/esm/icons/circle.mjs';
import good from 'lucide-static/dist/esm/icons/circle-check.mjs';
import bad from 'lucide-static/dist/esm/icons/circle-x.mjs';
import clock from 'lucide-static/dist/esm/icons/clock.mjs';
import code from 'lucide-static/dist/esm/icons/code.mjs';
import card from 'lucide-static/dist/esm/icons/credit-card.mjs';
import report from 'lucide-static/dist/esm/icons/file-chart-column.mjs';
import gift from 'lucide-static/dist/esm/icons/gift.mjs';
import handshake from 'lucide-static/dist/esm/icons/handshake.mjs';
import house from 'lucide-static/dist/esm/icons/house.mjs';
import images from 'lucide-static/dist/esm/icons/images.mjs';
import key from 'lucide-static/dist/esm/icons/key-round.mjs';
import dashboard from 'lucide-static/dist/esm/icons/layout-dashboard.mjs';
import queue from 'lucide-static/dist/esm/icons/list-todo.mjs';
import signOut from 'lucide-static/dist/esm/icons/log-out.mjs';
import menu from 'lucide-static/dist/esm/icons/menu.mjs';
import play from 'lucide-static/dist/esm/icons/play.mjs';
import design from 'lucide-static/dist/esm/icons/palette.mjs';
import history from 'lucide-static/dist/esm/icons/receipt-text.mjs';
import log from 'lucide-static/dist/esm/icons/scroll-text.mjs';
import settings from 'lucide-static/dist/esm/icons/settings.mjs';
import incident from 'lucide-static/dist/esm/icons/siren.mjs';
import warning from 'lucide-static/dist/esm/icons/triangle-alert.mjs';
import task from 'lucide-static/dist/esm/icons/repeat.mjs';
import server from 'lucide-static/dist/esm/icons/server.mjs';
import users from 'lucide-static/dist/esm/icons/users.mjs';
import webhook from 'lucide-static/dist/esm/icons/webhook.mjs';

const ICONS = {
  apps,
  bad,
  book,
  card,
  chart,
  clock,
  code,
  dashboard,
  design,
  gift,
  good,
  handshake,
  history,
  house,
  images,
  incident,
  key,
  log,
  menu,
  open,
  play,
  queue,
  report,
  settings,
  signOut,
  server,
  task,
  users,
  warning,
  webhook,
};

export type IconName = keyof typeof ICONS;

export const ICON_NAMES = Object.keys(ICONS) as IconName[];

/** Symbol of the set Lucide beside a text, which says the same: it has no name of its own. */
export function Icon({ name }: { name: IconName }): VNode {
  const shapes = ICONS[name].replace(/^[^]*?<svg[^]*?>|<\/svg>\s*$/g, '');
  return <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" dangerouslySetInnerHTML={{ __html: shapes }} />;
}

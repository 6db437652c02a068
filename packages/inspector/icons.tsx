/** Line drawings on a 16×16 grid, in the color of the surrounding text. */
const paths = {
  activity: 'M1.5 8H4l2-5.5 4 11L12 8h2.5',
  attach: 'M11.5 5.5 6 11a1.8 1.8 0 0 0 2.5 2.5L14 8a3.2 3.2 0 0 0-4.6-4.6L3.8 9a4.6 4.6 0 0 0 .2 6.3',
  check: 'm3 8.5 3.5 3.5L13 4.5',
  chevron: 'm6 3.5 4.5 4.5L6 12.5',
  clock: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 4.5V8l2.5 1.5',
  close: 'm3.5 3.5 9 9m0-9-9 9',
  code: 'm5.5 4-4 4 4 4m5-8 4 4-4 4',
  copy: 'M6 5.5h7.5V14H6zM10 5.5V2H2.5v8.5H6',
  down: 'M8 2.5v11m-4.5-4.5L8 13.5l4.5-4.5',
  download: 'M8 2v8.5M4.5 7 8 10.5 11.5 7M2.5 13.5h11',
  edit: 'M3 13l.7-3L11 2.7a1.4 1.4 0 0 1 2.1 2.1L5.9 12.2zM9.5 4.2l2.2 2.2',
  expand: 'M9.5 2.5H13.5V6.5M13.5 2.5 9.5 6.5M6.5 13.5H2.5V9.5M2.5 13.5 6.5 9.5',
  filter: 'M2 4h12M4.5 8h7M6.5 12h3',
  fork: 'M4 4.5v7M4 8h5a3 3 0 0 0 3-3v-.500M4 4.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3Zm0 10a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3Zm8-10a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3Z',
  help: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM6.3 6.3a1.8 1.8 0 1 1 2.6 1.6c-.6.3-.9.7-.9 1.3m0 2.1v.1',
  list: 'M2.5 4h11m-11 4h11m-11 4h11',
  microphone: 'M8 10a2 2 0 0 0 2-2V4a2 2 0 0 0-4 0v4a2 2 0 0 0 2 2ZM3.5 8a4.5 4.5 0 0 0 9 0M8 12.5v2',
  moon: 'M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7Z',
  more: 'M3.5 8h.01M8 8h.01m4.49 0h.01',
  panel: 'M2 3h12v10H2zM9.5 3v10',
  pause: 'M5.5 3v10m5-10v10',
  play: 'M4.5 2.5v11l8.5-5.5z',
  plus: 'M8 3v10M3 8h10',
  previous: 'M10 3.5 5.5 8l4.5 4.5',
  retry: 'M13 8a5 5 0 1 1-1.5-3.6M13 2v3h-3',
  search: 'M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9Zm3.3-1.2L14 14',
  send: 'M8 13.5v-11M3.5 7 8 2.5 12.5 7',
  sidebar: 'M2 3h12v10H2zM6 3v10',
  speaker: 'M2 6v4h2.5L8 13V3L4.5 6zM10.5 5.5a3.5 3.5 0 0 1 0 5M12.5 3.5a6.5 6.5 0 0 1 0 9',
  stop: 'M4 4h8v8H4z',
  sun: 'M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6Zm0-10v1.5m0 11V15M1 8h1.5m11 0H15M3 3l1 1m8 8 1 1m0-10-1 1m-8 8-1 1',
  system: 'M2 3h12v8H2zM5.5 14h5M8 11v3',
  tool: 'M9.8 6.2 3 13m11-8.5-2.5 2.5-2.5-2.5L11.5 2A3.5 3.5 0 0 0 7 6.5L2 11.5 4.5 14l5-5A3.5 3.5 0 0 0 14 4.5Z',
  'thumb-up':
    'M5 7v7H2.5V7zm0 0 3-5.5a1.5 1.5 0 0 1 1.5 1.7L9 6h4a1.3 1.3 0 0 1 1.3 1.6l-1.3 5.4a1.3 1.3 0 0 1-1.3 1H5',
  'thumb-down':
    'M11 9V2h2.5v7zm0 0-3 5.5a1.5 1.5 0 0 1-1.5-1.7L7 10H3a1.3 1.3 0 0 1-1.3-1.6L3 3a1.3 1.3 0 0 1 1.3-1H11',
  trash: 'M2.5 4h11M6 4V2.5h4V4m-6.5 0 .7 9.5h7.6L12.5 4M6.5 7v4m3-4v4',
  undo: 'M5.5 3 2.5 6l3 3M2.5 6h7a4 4 0 0 1 0 8H6',
  upload: 'M8 10.5V2M4.5 5.5 8 2l3.5 3.5M2.5 13.5h11',
  warning: 'M8 2 1.5 13.5h13zM8 6.5v3m0 2v.01',
} as const

export type IconName = keyof typeof paths

/** Hidden from screen readers: the text next to it or its button has a label. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon-drawing" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <path
        d={paths[name]}
        fill="none"
        stroke="currentColor"
        stroke-width="1.5"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  )
}

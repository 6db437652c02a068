import type { ExportedThread } from 'millrace/client'
import { render } from 'preact'
import { panelOpen, session } from '../state.ts'
import { now } from './clock.ts'
import { exportedSession } from './session.ts'
import { Standalone } from './standalone.tsx'

const place = document.getElementById('page')
const text = document.getElementById('millrace-export')?.textContent
if (place && text) {
  const exported: ExportedThread = JSON.parse(text)
  const opened = exportedSession(exported)
  now.value = exported.entries.at(-1)?.at ?? 0
  session.value = opened
  // Next to the chat, if there is room.
  panelOpen.value = matchMedia('(min-width: 1101px)').matches
  render(<Standalone thread={exported.thread} session={opened} />, place)
}

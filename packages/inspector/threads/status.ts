import type { ThreadStatus } from 'millrace/client'
import type { IconName } from '../icons.tsx'

export const statuses: Readonly<Record<ThreadStatus, { readonly words: string; readonly icon: IconName }>> = {
  running: { words: 'Running', icon: 'play' },
  queued: { words: 'Queued', icon: 'clock' },
  waiting: { words: 'Waiting for you', icon: 'warning' },
  idle: { words: 'Idle', icon: 'check' },
}

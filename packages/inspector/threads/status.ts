import type { ThreadStatus } from 'millrace/client'
import type { IconName } from '../icons.tsx'

export const statuses: Readonly<Record<ThreadStatus, { readonly label: string; readonly icon: IconName }>> = {
  running: { label: 'Running', icon: 'play' },
  queued: { label: 'Queued', icon: 'clock' },
  waiting: { label: 'Waiting', icon: 'warning' },
  idle: { label: 'Idle', icon: 'check' },
}

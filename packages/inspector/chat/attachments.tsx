import { IconButton } from '../icon-button.tsx'
import type { Attachment } from './draft.ts'
import { PartView } from './parts.tsx'

export interface AttachmentsProps {
  readonly attachments: readonly Attachment[]
  /** Absent if attachments cannot be removed. */
  readonly onChange?: (attachments: readonly Attachment[]) => void
}

/** The attachments of a message. */
export function Attachments({ attachments, onChange }: AttachmentsProps) {
  if (attachments.length === 0) return null
  return (
    <ul class="chat-attachments">
      {attachments.map((attachment, index) => (
        <li key={`${index}-${attachments.length}`}>
          <PartView part={attachment} label={`Attached image ${index + 1}`} />
          {onChange && (
            <IconButton
              icon="close"
              label={`Remove attachment ${index + 1}`}
              onClick={() => onChange(attachments.filter((other) => other !== attachment))}
            />
          )}
        </li>
      ))}
    </ul>
  )
}

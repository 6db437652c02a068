import { answer } from '../harness/answer.ts'
import { serve } from './serve.ts'

// In its own process, so that its work is not counted as the client's.
const asked = { open: serve }
export type ServerAnswers = typeof asked
answer(asked)

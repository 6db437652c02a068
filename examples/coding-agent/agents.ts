import { detectModel } from 'millrace'
import { coderFor } from './coder.ts'

// In the folder to work in:  millrace acp .../agents.ts     for an editor, which starts this itself
//                            millrace serve .../agents.ts   on a page
const { model } = await detectModel()
if (!model) throw new Error('no model found: set OPENAI_API_KEY or ANTHROPIC_API_KEY, or start a local model')

export default coderFor(process.cwd(), model).coder

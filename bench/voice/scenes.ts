/** One thing to measure: the same questions and answers, heard in different ways. */
export interface Scene {
  readonly name: 'silent' | 'spoken' | 'slow' | 'hanging'
  readonly title: string
  /** Whether clients ask to be spoken to. */
  readonly isSpoken: boolean
  /** Whether what is spoken comes to its end. */
  readonly isHeard: boolean
}

export const scenes: readonly Scene[] = [
  { name: 'silent', title: 'no voice', isSpoken: false, isHeard: false },
  { name: 'spoken', title: 'a quick voice', isSpoken: true, isHeard: true },
  { name: 'slow', title: 'a voice slower than speech', isSpoken: true, isHeard: true },
  { name: 'hanging', title: 'a voice that hangs', isSpoken: true, isHeard: false },
]

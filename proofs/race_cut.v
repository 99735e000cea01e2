(** * Drawing on after the bottom

    The code draws c times whether or not the bottom came, and drops what comes after it.

    - [drawn_on after A n]: the race, but where the bottom was drawn the rest of the draws follows by the law
      [after] of the candidates and rounds that are left, whatever it is.
    - [cut t]: the draws up to the bottom.

    Exported: [race_is_cut]: if [after] has mass one, the draws up to the bottom have the law of the race. *)

From mathcomp Require Import finmap.
From Sparsegate Require Import prelude privacy sums approximate exponential_mechanism race.
Local Open Scope fset_scope.
Local Open Scope ring_scope.

Section Cut.
Context {R : realType} {I : choiceType}.
Variables (a B : R) (q : I -> R) (after : {fset I} -> nat -> {distr (seq (option I)) / R}).
Hypothesis after1 : forall A n, psum (after A n) = 1.

(** Draws that go on after the bottom, by whatever law. *)
Fixpoint drawn_on (A : {fset I}) n : {distr (seq (option I)) / R} :=
  if n is n'.+1 then
    prefixed (race_round a q B A) (fun o => if o is Some i then drawn_on (A `\ i) n' else after A n')
  else dunit [::].

Fixpoint cut (t : seq (option I)) :=
  match t with
  | Some i :: t' => Some i :: cut t'
  | None :: _ => [:: None]
  | [::] => [::]
  end.

Theorem race_is_cut A n t : (\dlet_(u <- drawn_on A n) dunit (cut u)) t = race a q B A n t.
Proof.
have -> : (\dlet_(u <- drawn_on A n) dunit (cut u)) t = \P_[drawn_on A n] (fun u => cut u == t).
  by rewrite dletE; apply: eq_psum => u; rewrite dunit1E mulrC.
elim: n A t => [|n IH] A t; first by rewrite /= pr_dunit dunit1E.
rewrite [LHS]pr_prefixed; case: t => [|o' t] /=.
  rewrite prefixed_nil; apply: psum_eq0 => -[i|]; rewrite /pr psum_eq0 ?mulr0 // => u; by rewrite mul0r.
rewrite prefixed_cons (psum_one (x := o')) ?mulr_ge0 ?ge0_pr //; last first.
  move=> o neq; rewrite /pr psum_eq0 ?mulr0 // => u.
  by case: o neq => [i|] /= neq; rewrite eqseq_cons (negbTE neq) /= mul0r.
congr (_ * _); case: o' => [i|] /=.
  by rewrite -IH; apply: eq_psum => u; rewrite eqseq_cons eqxx.
rewrite dunit1E; transitivity (([::] == t)%:R * psum (after A n)); last by rewrite after1 mulr1.
by rewrite -psumZ ?ler0n.
Qed.

End Cut.

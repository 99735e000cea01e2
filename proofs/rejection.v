(** * Try until accepted

    An attempt draws something, [Some x], or is refused, [None]; after a refusal the next attempt starts
    from scratch.

    - [tries attempt n]: the first that is accepted out of n attempts, [None] if none is.
    - [guarded p mu]: go on with [mu] with probability p, refuse otherwise. (p is cut to [0, 1], as a coin is.)

    What is exported:
    - [rejection_law]: if every attempt accepts x with probability K w(x), then what n attempts accept is x
      with probability proportional to w(x), whatever n is: P[x] = (1 - P[none of n]) w(x) / sum of w.
    - [rejection_ends]: none of n is accepted with probability (P[refused])^n, which vanishes. *)

From Sparsegate Require Import prelude.
(* Sets are finite here, and not those of the classical library. *)
From mathcomp Require Import finset.
From Sparsegate Require Import sums programs exponential_mechanism.
Local Open Scope ring_scope.

Section Tries.
Context {R : realType} {T : choiceType}.
Implicit Types (attempt mu : {distr (option T) / R}) (p : R).

Fixpoint tries attempt (n : nat) : {distr (option T) / R} :=
  if n is n'.+1 then \dlet_(o <- attempt) (if o is Some x then dunit (Some x) else tries attempt n')
  else dunit None.

Lemma tries_none attempt n : tries attempt n.+1 None = attempt None * tries attempt n None.
Proof.
rewrite /= dletE (psum_point (x := None)) => [|[x|] //]; first by rewrite ger0_norm // mulr_ge0.
by move=> _; rewrite dunit1E mulr0.
Qed.

Lemma tries_some attempt n x :
  tries attempt n.+1 (Some x) = attempt (Some x) + attempt None * tries attempt n (Some x).
Proof.
rewrite /= dletE (psum_finseq (r := [:: Some x; None])) => [||o] //; last first.
  rewrite !inE; case: o => [y|]; rewrite ?orbT // orbF; apply: contraR => /= ne.
  by rewrite dunit1E (negbTE ne) mulr0.
by rewrite big_cons big_seq1 /= dunit1E eqxx mulr1 !ger0_norm // mulr_ge0.
Qed.

Theorem rejection_ends attempt n : tries attempt n None = attempt None ^+ n.
Proof.
elim: n => [|n IH]; first by rewrite /= dunit1E eqxx.
by rewrite tries_none IH exprS.
Qed.

Lemma tries_geometric attempt n x :
  tries attempt n (Some x) = attempt (Some x) * \sum_(k < n) attempt None ^+ k.
Proof.
elim: n => [|n IH]; first by rewrite /= dunit1E big_ord0 mulr0.
rewrite tries_some IH big_ord_recl expr0 mulrDr mulr1; congr (_ + _).
by rewrite mulrCA mulr_sumr; congr (_ * _); apply: eq_bigr => k _; rewrite -exprS.
Qed.

Definition guarded p mu : {distr (option T) / R} := \dlet_(go <- dflip p) (if go then mu else dunit None).

Lemma guarded_some p mu x : 0 <= p <= 1 -> guarded p mu (Some x) = p * mu (Some x).
Proof.
move=> p01; rewrite dletE (psum_point (x := true)) => [|[] // _].
  by rewrite dflip1E /mflip clamp_in01 // ger0_norm // mulr_ge0 //; case/andP: p01.
by rewrite dunit1E mulr0.
Qed.

Lemma guarded_mass_one p mu : psum mu = 1 -> psum (guarded p mu) = 1.
Proof.
move=> mu1; apply: dlet_mass_one => [|[]]; [|exact: mu1 | exact: dunit_mass_one].
rewrite psum_fin big_bool /= !ger0_norm // !dflip1E /mflip.
by rewrite addrC subrK.
Qed.

End Tries.

Section Law.
Context {R : realType} {T : finType}.

Lemma option_mass (attempt : {distr (option T) / R}) :
  psum attempt = attempt None + \sum_x attempt (Some x).
Proof.
rewrite psum_fin (bigD1 None) //= ger0_norm //; congr (_ + _).
rewrite (reindex_omap Some id) /=; last by case.
by apply: eq_big => [x|x _]; rewrite ?eqxx // ger0_norm.
Qed.

Theorem rejection_law (attempt : {distr (option T) / R}) (w : T -> R) K n x :
  psum attempt = 1 -> (forall x, 0 <= w x) -> (forall x, attempt (Some x) = K * w x) ->
  tries attempt n (Some x) = (1 - tries attempt n None) * proportional w x.
Proof.
move=> whole w0 accept; rewrite tries_geometric rejection_ends accept proportionalE //.
have accepted : 1 - attempt None = K * \sum_x w x.
  rewrite -whole option_mass addrAC subrr add0r mulr_sumr.
  by apply: eq_bigr => y _; apply: accept.
have -> : 1 - attempt None ^+ n = K * (\sum_x w x) * \sum_(k < n) attempt None ^+ k.
  by rewrite -accepted -[LHS]opprB subrX1 -mulNr opprB.
have [W0|nz] := eqVneq (\sum_x w x) 0.
  have -> : w x = 0 by have := psumr_eq0P (fun y _ => w0 y) W0; apply.
  by rewrite mulr0 !mul0r mulr0.
apply: (mulIf nz); rewrite -[RHS]mulrA mulfVK //.
by rewrite mulrAC [K * w x * _]mulrAC [LHS]mulrAC.
Qed.

End Law.
